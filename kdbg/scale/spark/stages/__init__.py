"""What Spark's workers do, stage by stage, and in which form packets and exchanges go from one stage to the next."""
