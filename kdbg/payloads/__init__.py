"""What is inside messages and on a broker's disk: records, their keys and values, schemas, log segments."""
