"""Desktop programs and plain files, driven by a script that errs, recorded under our daemon."""
