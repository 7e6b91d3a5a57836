import Primitives
import Synchronization

/// Pictures for which a request was answered with the bytes of the original file. When there are too many, the one that
/// was not sent for longest is forgotten.
package final class SentFiles: Sendable {
  private let pictures: Mutex<LRUCache<RenditionKey, Void>>

  /// - Parameter capacity: maximum number of pictures.
  package init(capacity: Int) { pictures = Mutex(LRUCache(capacity: capacity)) }

  /// Notes that a picture's file is sent. Returns whether it was sent before.
  package func fileSent(_ key: RenditionKey) -> Bool {
    pictures.withLock { pictures in
      if pictures.value(for: key) != nil { return true }
      pictures.keep((), for: key)
      return false
    }
  }
}
