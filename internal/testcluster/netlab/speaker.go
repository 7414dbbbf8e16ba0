package netlab

const (
	controllerProgram = "metallb-controller"
	speakerProgram    = "metallb-speaker"
)
