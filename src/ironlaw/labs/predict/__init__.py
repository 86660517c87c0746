"""A small working lab to copy: `ironlaw lab new NAME`."""
