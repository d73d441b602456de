"""Takes libraries along: documents and all that is known of them go into a ZIP, which another Docmill reads."""
