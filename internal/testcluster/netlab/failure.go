package netlab

import "context"

// FailWorker is a worker that dies: the cable is out, the speaker is killed, and its router is no endpoint any more. What
// the hosted cluster says of the Node is up to the caller.
func (l *Lab) FailWorker(ctx context.Context, name string) error {
	worker, err := l.worker(name)
	if err != nil {
		return err
	}
	worker.setFailed(true)
	defer l.wakeUp()
	if err := l.wires.ip(ctx, "link set "+switchPort(name, VLANLink)+" down"); err != nil {
		return err
	}
	if m := l.runningMetalLB(); m != nil {
		m.killSpeaker(worker)
	}
	return nil
}

// RestoreWorker brings a worker back that has failed.
func (l *Lab) RestoreWorker(ctx context.Context, name string) error {
	worker, err := l.worker(name)
	if err != nil || !worker.Failed() {
		return err
	}
	if err := l.wires.ip(ctx, "link set "+switchPort(name, VLANLink)+" up"); err != nil {
		return err
	}
	worker.setFailed(false)
	defer l.wakeUp()
	if m := l.runningMetalLB(); m != nil {
		return m.startSpeaker(worker)
	}
	return nil
}
