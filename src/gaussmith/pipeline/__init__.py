"""The order of a release, and the stages that learn bounds, bins or keys before it."""
