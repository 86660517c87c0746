"""What a row of evidence says was measured, as a call: one file per subject, of the same name as its cases."""
