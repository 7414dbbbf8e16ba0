package appsingress

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fieldSet is what of an object the API server says we applied, in its own notation: "f:" before each name.
type fieldSet map[string]any

// ownedFields reads the record that the API server keeps of our applies. Without one, the set is empty.
func ownedFields(obj *unstructured.Unstructured) fieldSet {
	for _, entry := range obj.GetManagedFields() {
		if !isOurApply(entry) || entry.FieldsV1 == nil {
			continue
		}
		var fields fieldSet
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil {
			return fields
		}
	}
	return nil
}

func (f fieldSet) label(key string) bool      { return f.metadata("f:labels", key) }
func (f fieldSet) annotation(key string) bool { return f.metadata("f:annotations", key) }

func (f fieldSet) metadata(kind, key string) bool {
	metadata, _ := f["f:metadata"].(map[string]any)
	fields, _ := metadata[kind].(map[string]any)
	_, owned := fields["f:"+key]
	return owned
}
