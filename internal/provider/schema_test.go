package provider

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

func TestSchemasAreValid(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if diags := appsIngressSchema().ValidateImplementation(ctx); diags.HasError() {
		t.Error(diags)
	}
	if diags := providerSchema().ValidateImplementation(ctx); diags.HasError() {
		t.Error(diags)
	}
	for _, newResource := range newProvider("test", nil)().Resources(ctx) {
		r := newResource()
		var meta resource.MetadataResponse
		r.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: typeName}, &meta)
		if !strings.HasPrefix(meta.TypeName, typeName+"_") {
			t.Errorf("%T is called %s", r, meta.TypeName)
		}
	}
	for _, newDataSource := range newProvider("test", nil)().DataSources(ctx) {
		d := newDataSource()
		var meta datasource.MetadataResponse
		d.Metadata(ctx, datasource.MetadataRequest{ProviderTypeName: typeName}, &meta)
		if !strings.HasPrefix(meta.TypeName, typeName+"_") {
			t.Errorf("%T is called %s", d, meta.TypeName)
		}
		if diags := dataSchema(t, d).ValidateImplementation(ctx); diags.HasError() {
			t.Error(meta.TypeName, diags)
		}
	}
	var meta provider.MetadataResponse
	newProvider("1.2.3", nil)().Metadata(ctx, provider.MetadataRequest{}, &meta)
	if meta.TypeName != typeName || meta.Version != "1.2.3" {
		t.Errorf("the provider is %s %s", meta.TypeName, meta.Version)
	}
}

// described walks all attributes, nested ones included.
func described(attributes map[string]schema.Attribute, at path.Path, visit func(path.Path, schema.Attribute)) {
	for name, attribute := range attributes {
		p := at.AtName(name)
		visit(p, attribute)
		switch nested := attribute.(type) {
		case schema.SingleNestedAttribute:
			described(nested.Attributes, p, visit)
		case schema.ListNestedAttribute:
			described(nested.NestedObject.Attributes, p, visit)
		}
	}
}

// What can be set says its default and what a change does; what replaces says so, and only that.
func TestEveryAttributeIsDescribed(t *testing.T) {
	t.Parallel()
	replaces := func(p path.Path) bool {
		for at := p; len(at.Steps()) > 0; at = at.ParentPath() {
			if slices.ContainsFunc(replacing(), at.Equal) {
				return true
			}
		}
		return false
	}
	described(appsIngressSchema().Attributes, path.Empty(), func(p path.Path, a schema.Attribute) {
		text := a.GetMarkdownDescription()
		if text == "" {
			t.Errorf("%s has no description", p)
		}
		_, parent := a.(schema.SingleNestedAttribute)
		settable := a.IsOptional() || a.IsRequired()
		if got := strings.Contains(text, "Changing it replaces the ingress"); settable && got != replaces(p) {
			t.Errorf("%s: its description says that a change replaces: %t, and the plan: %t", p, got, replaces(p))
		}
		if settable && !parent && !replaces(p) && !strings.Contains(text, "Changed in place") {
			t.Errorf("%s does not say what a change does: %s", p, text)
		}
		if a.IsOptional() && !parent && !strings.Contains(text, "Default") {
			t.Errorf("%s does not say its default: %s", p, text)
		}
	})
	for name, a := range providerSchema().Attributes {
		if a.GetMarkdownDescription() == "" {
			t.Errorf("the provider's %s has no description", name)
		}
	}
	for name, b := range providerSchema().Blocks {
		if b.GetMarkdownDescription() == "" {
			t.Errorf("the provider's %s has no description", name)
		}
	}
	for name, a := range execAttributes() {
		if a.GetMarkdownDescription() == "" {
			t.Errorf("the provider's exec.%s has no description", name)
		}
	}
}

func dataSchema(t *testing.T, d datasource.DataSource) dataschema.Schema {
	t.Helper()
	var resp datasource.SchemaResponse
	d.Schema(t.Context(), datasource.SchemaRequest{}, &resp)
	return resp.Schema
}

// describedData is described for the attributes of a data source.
func describedData(attributes map[string]dataschema.Attribute, at path.Path, visit func(path.Path, dataschema.Attribute)) {
	for name, attribute := range attributes {
		p := at.AtName(name)
		visit(p, attribute)
		switch nested := attribute.(type) {
		case dataschema.SingleNestedAttribute:
			describedData(nested.Attributes, p, visit)
		case dataschema.ListNestedAttribute:
			describedData(nested.NestedObject.Attributes, p, visit)
		}
	}
}

// What can be set in a data source says its default; nothing there is changed, in place or otherwise.
func TestEveryAttributeOfDataSourcesIsDescribed(t *testing.T) {
	t.Parallel()
	for _, newDataSource := range newProvider("test", nil)().DataSources(t.Context()) {
		d := newDataSource()
		s := dataSchema(t, d)
		if s.MarkdownDescription == "" {
			t.Errorf("%T has no description", d)
		}
		describedData(s.Attributes, path.Empty(), func(p path.Path, a dataschema.Attribute) {
			text := a.GetMarkdownDescription()
			_, parent := a.(dataschema.SingleNestedAttribute)
			switch {
			case text == "":
				t.Errorf("%T: %s has no description", d, p)
			case a.IsOptional() && !parent && !strings.Contains(text, "Default"):
				t.Errorf("%T: %s does not say its default: %s", d, p, text)
			case strings.Contains(text, "Chang"):
				t.Errorf("%T: %s speaks of a change: %s", d, p, text)
			}
		})
	}
}

func TestSecretsAreSensitive(t *testing.T) {
	t.Parallel()
	secret := []string{"token", "client_key", "proxy_url", "env"}
	check := func(where string, sensitive bool) {
		name := where[strings.LastIndex(where, ".")+1:]
		if want := slices.Contains(secret, name); sensitive != want {
			t.Errorf("%s: sensitive is %t, want %t", where, sensitive, want)
		}
	}
	all := map[string]providerschema.Attribute{}
	maps.Copy(all, providerSchema().Attributes)
	for name, a := range execAttributes() {
		all["exec."+name] = a
	}
	for name, a := range all {
		check(name, a.IsSensitive())
	}
	described(appsIngressSchema().Attributes, path.Empty(), func(p path.Path, a schema.Attribute) { check(p.String(), a.IsSensitive()) })
	describedData(appsIngressDataSchema().Attributes, path.Empty(), func(p path.Path, a dataschema.Attribute) {
		check(p.String(), a.IsSensitive())
	})
}
