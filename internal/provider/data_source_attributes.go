package provider

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// givenText is a text that has to be set in a data source.
func givenText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description, Validators: validators}
}

// textData is a text that may be set in a data source.
func textData(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

// numberData is a number that may be set in a data source.
func numberData(description string, validators ...validator.Int32) schema.Int32Attribute {
	return schema.Int32Attribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

// seenText is a text that a data source reads.
func seenText(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

// nameAttribute names an object of the management cluster.
func nameAttribute(description, kind string) schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"name":      givenText("Name of the "+kind+".", objectName()),
			"namespace": textData("Namespace of the "+kind+". Default: `clusters`.", namespaceName()),
		},
	}
}

// readTimeoutAttribute is the time that a data source may take.
func readTimeoutAttribute(byDefault string) schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		CustomType:          timeouts.Type{ObjectType: types.ObjectType{AttrTypes: map[string]attr.Type{"read": types.StringType}}},
		MarkdownDescription: "How long the read may take.",
		Attributes: map[string]schema.Attribute{
			"read": textData("Time for the read, as a duration such as `90s` or `45m`. "+byDefault, duration()),
		},
	}
}
