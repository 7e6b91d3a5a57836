extension JSONObjectReader {
  /// Whether there is a member with that name, including null.
  mutating func has(_ name: String) -> Bool {
    markRead(name)
    return hasMember(name)
  }

  /// Whether the member exists and is null.
  mutating func isNull(_ name: String) -> Bool { has(name) && value(name) == nil }
}
