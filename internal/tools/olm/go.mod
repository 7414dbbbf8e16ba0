module github.com/densityops/terraform-provider-oooi/internal/tools/olm

go 1.26.0

require github.com/operator-framework/api v0.9.1
