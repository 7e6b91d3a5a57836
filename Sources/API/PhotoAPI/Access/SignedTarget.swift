import AccessControl
import HTTPCore
import LibraryCatalogue
import PhotoModel

/// A path with its query that can be signed: of one image or of one album.
package struct SignedTarget: Sendable {
  /// The target without the signature's parameters.
  private let target: RequestTarget
  package let subject: URLSignature.Subject
  /// The album that the signature grants as a whole. `nil`: it grants one image.
  package let collection: String?

  /// - Parameters:
  ///   - text: `/v1/assets/ID/image?…`, an image of `/iiif/3/ID`, `/v1/collections/ID` or
  ///     `/v1/collections/ID/assets?…`.
  ///   - presets: the presets that an image's query may name. The signature covers the preset's name, not its
  ///     parameters.
  package init(_ text: String, presets: ImagePresets) throws(Problem) {
    guard text.hasPrefix("/"), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let target = RequestTarget(text, method: .get, host: nil), let parameters = target.parameters
    else { throw QueryReader.invalid("path", "must be a path of this daemon, percent-encoded, with its query") }
    guard !URLSignature.isPresent(in: parameters) else { throw QueryReader.invalid("path", "is signed already") }
    self.target = target
    switch Route(target.segments)?.group.signedAccess {
    case .image:
      try Self.check(target, presets)
      collection = nil
      subject = URLSignature.Subject(segments: target.segments, parameters: parameters)
    case .album:
      let identifier = target.segments[2]
      collection = identifier
      subject = Self.subject(ofCollection: identifier)
    case .albumAsset, nil:
      throw QueryReader.invalid(
        "path", "must be that of one image (/v1/assets/ID/image or /iiif/3/ID/…) or of one album (/v1/collections/ID)")
    }
  }

  /// Checks the query of an album, as the route of the path does when the URL is requested. The query of an image was
  /// checked before.
  ///
  /// - Parameter tokens: the codec of the library that the path belongs to.
  package func checkQuery(_ tokens: TokenCodec) throws(Problem) {
    guard let collection else { return }
    let includesHidden: Bool
    if target.segments.count == 3 {
      includesHidden = try CollectionRoutes.query(target).includesHidden
    } else {
      let reader = Principal(name: "signed", scopes: [.read], visibility: .collections([LocalIdentifier(collection)]))
      let query = try AssetListQuery(target, tokens, until: .now, for: reader)
      if query.page.cursor == .invalid { throw QueryReader.invalid("cursor", "is not a cursor of a page") }
      includesHidden = query.fetch.includesHidden
    }
    if includesHidden {
      throw QueryReader.invalid("includeHiddenAssets", "can't be signed: a signed album lists no hidden assets")
    }
  }

  /// Parses the query of an image. Limits of sizes are applied when it is requested.
  private static func check(_ target: RequestTarget, _ presets: ImagePresets) throws(Problem) {
    guard target.segments[0] == "iiif", let route = Route(target.segments) else {
      return _ = try ImageQuery(target, presets: presets)
    }
    _ = try IIIFRoutes.query(
      route, LocalIdentifier(route["localIdentifier"]), target, IIIFLimits(renderBytes: .max))
  }

  /// The signed subject of a collection. It is the same for all resources of the collection.
  static func subject(ofCollection identifier: String) -> URLSignature.Subject {
    URLSignature.Subject(segments: ["v1", "collections", identifier])
  }

  /// The result of looking up the target for the signing principal.
  package enum LookupResult: Sendable {
    case found, noSuchAsset, noSuchCollection
    /// A collection that is not an album.
    case notAnAlbum

    package func check() throws(Problem) {
      switch self {
      case .found: return
      case .noSuchAsset: throw Problem.assetNotFound.naming("path")
      case .noSuchCollection: throw Problem.collectionNotFound.naming("path")
      case .notAnAlbum: throw QueryReader.invalid("path", "must be that of an album, not of another list")
      }
    }
  }

  /// Looks up the asset or the album for the principal that signs. Blocks on the catalogue.
  package func lookUp(of principal: Principal, in library: Catalogue) throws(AssetSourceError) -> LookupResult {
    guard let collection else {
      let asset = try library.asset(LocalIdentifier(subject.segments[2]), for: principal)
      return asset == nil ? .noSuchAsset : .found
    }
    guard let found = try library.collection(LocalIdentifier(collection), CollectionQuery(), for: principal) else {
      return .noSuchCollection
    }
    return found.type == .album ? .found : .notAnAlbum
  }

  /// The signed URL, path-absolute. It has one slash between components: `//v1` would name a host (RFC 3986 §4.2).
  package func url(_ signature: URLSignature) -> String {
    let path = "/" + target.path.split(separator: "/").joined(separator: "/")
    let query = signature.parameters.map { "\($0.name)=\(RequestTarget.percentEncoded($0.value))" }.joined(
      separator: "&")
    guard let own = target.query, !own.isEmpty else { return "\(path)?\(query)" }
    return "\(path)?\(own)&\(query)"
  }
}
