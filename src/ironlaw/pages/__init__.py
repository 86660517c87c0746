"""The pages around the labs, as text: the start page, the glossary, the free instrument. The server and the static site share them."""
