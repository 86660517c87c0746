"""A study: one question asked at many points, on all cores or on a cluster, and kept as Parquet so that a stopped run goes on."""
