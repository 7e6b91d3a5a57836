import AccessControl
import AssetLibrary
import HTTPCore
import PhotoModel

/// What can be signed: a path with its query, of one image or of one album.
package struct SignedTarget: Sendable {
  /// As it was given, without what a signature adds.
  private let target: RequestTarget
  package let subject: URLSignature.Subject
  /// The album that all of is opened; `nil`: one image is.
  package let collection: String?

  /// - Parameter text: `/v1/assets/ID/image?…`, `/v1/collections/ID` or `/v1/collections/ID/assets?…`.
  package init(_ text: String) throws(Problem) {
    guard text.hasPrefix("/"), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let target = RequestTarget(text, method: .get, host: nil), let parameters = target.parameters
    else { throw QueryReader.invalid("path", "is a path of this daemon's, percent-encoded, with its query") }
    guard !URLSignature.isIn(parameters) else { throw QueryReader.invalid("path", "is signed already") }
    self.target = target
    switch Route(target.segments) {
    case .image:
      _ = try ImageQuery(target)
      collection = nil
      subject = URLSignature.Subject(segments: target.segments, parameters: parameters)
    case .collection(let identifier), .collectionAssets(let identifier):
      collection = identifier
      subject = Self.subject(ofCollection: identifier)
    default:
      throw QueryReader.invalid(
        "path", "is that of one image (/v1/assets/ID/image) or of one album (/v1/collections/ID)")
    }
  }

  /// What stands for a collection, whichever of its resources is asked for.
  static func subject(ofCollection identifier: String) -> URLSignature.Subject {
    URLSignature.Subject(segments: ["v1", "collections", identifier])
  }

  /// What there is of it for whoever signs it.
  package enum Sight: Sendable {
    case there, noSuchAsset, noSuchCollection
    /// A collection, and no album.
    case noAlbum

    package func check() throws(Problem) {
      switch self {
      case .there: return
      case .noSuchAsset: throw .assetNotFound
      case .noSuchCollection: throw .collectionNotFound
      case .noAlbum: throw QueryReader.invalid("path", "is that of an album, not of another list")
      }
    }
  }

  /// Blocks for as long as the catalogue does.
  package func sight(
    of principal: Principal, in library: any AssetFetching
  ) throws(AssetSourceError) -> Sight {
    guard let collection else {
      let asset = try library.asset(LocalIdentifier(subject.segments[2]), for: principal)
      return asset == nil ? .noSuchAsset : .there
    }
    guard let found = try library.collection(LocalIdentifier(collection), CollectionQuery(), for: principal) else {
      return .noSuchCollection
    }
    return found.type == .album ? .there : .noAlbum
  }

  /// The signed URL, path-absolute.
  package func url(_ signature: URLSignature) -> String {
    let query = signature.parameters.map { "\($0.name)=\(RequestTarget.encoded($0.value))" }.joined(separator: "&")
    guard let own = target.query, !own.isEmpty else { return "\(target.path)?\(query)" }
    return "\(target.path)?\(own)&\(query)"
  }
}
