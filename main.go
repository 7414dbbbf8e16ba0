// Command terraform-provider-oooi is the provider's plugin binary: Terraform starts it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/densityops/terraform-provider-oooi/internal/provider"
)

// version is set by the linker at release.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "serve for a debugger and print how Terraform attaches to it")
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.Parse()

	if *showVersion {
		if _, err := fmt.Fprintln(os.Stdout, version); err != nil {
			log.Fatal(err)
		}
		return
	}

	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address: "registry.terraform.io/densityops/oooi",
		Debug:   *debug,
	})
	if err != nil {
		log.Fatal(err)
	}
}
