"""The room: what people in the hall see and send from their phones."""
