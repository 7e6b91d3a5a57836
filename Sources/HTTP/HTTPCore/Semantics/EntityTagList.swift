/// The field values If-Match and If-None-Match: `*`, or a list of entity tags (RFC 9110 §8.8.3, §13.1.1, §13.1.2).
package enum EntityTagList {
  /// Whether a list contains a representation's tag.
  ///
  /// - Parameters:
  ///   - list: the field value. Elements that are not entity tags are ignored.
  ///   - tag: the representation's strong tag with its quotes; `nil` if it has no tag, which only `*` matches.
  ///   - weakly: use the weak comparison, which ignores `W/` (§8.8.3.2).
  package static func matches(_ tag: UnsafeRawBufferPointer, in list: UnsafeRawBufferPointer, weakly: Bool) -> Bool {
    var i = 0
    while i < list.count {
      switch list[i] {
      case 0x20, 0x09, UInt8(ascii: ","):
        i += 1
      case UInt8(ascii: "*"):
        return true
      default:
        var isWeak = false
        if list[i] == UInt8(ascii: "W"), i + 1 < list.count, list[i + 1] == UInt8(ascii: "/") {
          isWeak = true
          i += 2
        }
        let start = i
        guard i < list.count, list[i] == UInt8(ascii: "\"") else {
          while i < list.count, list[i] != UInt8(ascii: ",") { i += 1 }
          continue
        }
        i += 1
        // Inside the quotes, backslash and comma are ordinary characters.
        while i < list.count, list[i] != UInt8(ascii: "\"") { i += 1 }
        guard i < list.count else { return false }
        i += 1
        if isWeak && !weakly { continue }
        if i - start == tag.count, UnsafeRawBufferPointer(rebasing: list[start..<i]).elementsEqual(tag) { return true }
      }
    }
    return false
  }

  package static func matches(_ tag: String?, in list: String, weakly: Bool) -> Bool {
    var (tag, list) = (tag ?? "", list)
    return tag.withUTF8 { tag in
      list.withUTF8 { matches(UnsafeRawBufferPointer(tag), in: UnsafeRawBufferPointer($0), weakly: weakly) }
    }
  }
}
