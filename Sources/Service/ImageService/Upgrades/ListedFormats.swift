import PhotoModel
import Primitives
import Synchronization

/// The smaller formats that each owner's clients listed last in `Accept`; for windows, whose requests rarely list
/// formats. When there are too many owners, the one whose formats were not used for longest is forgotten.
package final class ListedFormats: Sendable {
  private let owners: Mutex<LRUCache<String, UpgradeFormats>>

  /// - Parameter capacity: maximum number of owners.
  package init(capacity: Int = 256) { owners = Mutex(LRUCache(capacity: capacity)) }

  /// Remembers the smaller format that an owner's client has listed.
  ///
  /// - Parameter hasAlpha: whether the client listed it for a picture with alpha.
  package func clientListed(_ format: OutputFormat, hasAlpha: Bool, owner: String) {
    owners.withLock { owners in
      let former = owners.value(for: owner) ?? UpgradeFormats()
      var formats = former
      if hasAlpha { formats.alpha = format } else { formats.opaque = format }
      if formats != former { owners.keep(formats, for: owner) }
    }
  }

  /// The formats that clients of an owner have listed.
  package func formats(of owner: String) -> UpgradeFormats {
    owners.withLock { $0.value(for: owner) ?? UpgradeFormats() }
  }
}
