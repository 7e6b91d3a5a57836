import HTTPCore
import Primitives

extension Validators {
  /// Validators of a file or a picture that was last changed at that time, in seconds since 1970. A time in the future
  /// is left out: RFC 9110 §8.8.2.1 forbids it, and a client that has it would not notice a file with an earlier date
  /// in its place.
  init(entityTag: String?, changed seconds: Int64) {
    self.init(entityTag: entityTag, lastModified: seconds <= SystemTime.now ? seconds : nil)
  }

  /// `Last-Modified`, if known.
  var lastModifiedField: [(name: String, value: String)] {
    lastModified.map { [("Last-Modified", HTTPDate.string(secondsSince1970: $0))] } ?? []
  }
}
