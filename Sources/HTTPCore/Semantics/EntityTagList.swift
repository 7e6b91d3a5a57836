/// The field values If-Match and If-None-Match: `*`, or a list of entity tags (RFC 9110 §8.8.3, §13.1.1, §13.1.2).
package enum EntityTagList {
  /// Whether a list names a representation's tag.
  ///
  /// - Parameters:
  ///   - list: the field's value. What is no entity tag in it is passed over.
  ///   - tag: the representation's, strong, with its quotes; `nil` where it has none, which only `*` names.
  ///   - weakly: by the weak comparison, which looks past `W/` (§8.8.3.2).
  package static func names(_ tag: UnsafeRawBufferPointer, in list: UnsafeRawBufferPointer, weakly: Bool) -> Bool {
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
        // Inside the quotes a backslash is a character like others, and a comma too.
        while i < list.count, list[i] != UInt8(ascii: "\"") { i += 1 }
        guard i < list.count else { return false }
        i += 1
        if isWeak && !weakly { continue }
        if i - start == tag.count, UnsafeRawBufferPointer(rebasing: list[start..<i]).elementsEqual(tag) { return true }
      }
    }
    return false
  }

  package static func names(_ tag: String?, in list: String, weakly: Bool) -> Bool {
    var (tag, list) = (tag ?? "", list)
    return tag.withUTF8 { tag in
      list.withUTF8 { names(UnsafeRawBufferPointer(tag), in: UnsafeRawBufferPointer($0), weakly: weakly) }
    }
  }
}
