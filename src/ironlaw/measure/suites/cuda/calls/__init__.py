"""What a row of evidence says was measured, as a call: one file a subject, of the same name as its cases."""
