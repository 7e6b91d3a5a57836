import HTTPCore
import PhotoModel
import ZipFormat

/// The archive that a client requests, by the query of GET or by the JSON body of POST.
struct ArchiveRequest: Sendable {
  /// Maximum number of identifiers in a request. A fetch result can have more assets.
  private static let maximumAssets = 500

  let source: ArchivePlanner.Source
  let resources: ArchivePlanner.Resources
  let includesLocation: Bool
  /// The name that a browser saves the archive under.
  let name: String

  init(queryOf target: RequestTarget) throws(Problem) {
    var query = try QueryReader(target)
    resources = try query.word("resources", default: ArchivePlanner.Resources.primary)
    let assets = try query.text("assets").map { text throws(Problem) in try Self.identifiers(text) }
    let collection = try query.identifier("collection")
    let fetchResult = query.text("fetchResult")
    includesLocation = try query.flag("includeLocation")
    let filename = query.text("filename")
    try query.finish()
    source = try Self.source(assets, collection, fetchResult)
    name = try Self.name(filename)
  }

  /// Reads the same parameters from the members of a JSON object, so that the request line does not limit `assets`.
  init(bodyOf request: HTTPRequest) throws(Problem) {
    var body = try JSONObjectReader(request)
    resources = try body.word("resources", default: ArchivePlanner.Resources.primary)
    let assets = try body.identifiers("assets", atMost: Self.maximumAssets)
    let collection = try body.text("collection").map { text throws(Problem) in
      try LocalIdentifier(parameter: text, "collection")
    }
    let fetchResult = try body.text("fetchResult")
    includesLocation = try body.flag("includeLocation")
    let filename = try body.text("filename")
    try body.finish()
    if let assets, assets.isEmpty { throw QueryReader.invalid("assets", "must have at least one identifier") }
    source = try Self.source(assets, collection, fetchResult)
    name = try Self.name(filename)
  }

  private static func identifiers(_ text: String) throws(Problem) -> [LocalIdentifier] {
    let names = text.split(separator: ",", omittingEmptySubsequences: false)
    guard names.count <= maximumAssets else {
      throw QueryReader.invalid("assets", "must have at most \(maximumAssets) identifiers; use a fetch result")
    }
    var identifiers: [LocalIdentifier] = []
    for name in names { identifiers.append(try LocalIdentifier(parameter: String(name), "assets")) }
    return identifiers
  }

  private static func source(
    _ assets: [LocalIdentifier]?, _ collection: LocalIdentifier?, _ fetchResult: String?
  ) throws(Problem) -> ArchivePlanner.Source {
    switch (assets, collection, fetchResult) {
    case (let assets?, nil, nil): return .assets(assets)
    case (nil, let collection?, nil): return .collection(collection)
    case (nil, nil, let fetchResult?): return .fetchResult(fetchResult)
    default: throw QueryReader.invalid("assets", "or collection or fetchResult must be given, and only one of them")
    }
  }

  private static func name(_ filename: String?) throws(Problem) -> String {
    let text = filename ?? "photos.zip"
    guard !text.isEmpty, text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw QueryReader.invalid("filename", "must be a name without control characters")
    }
    let name = ZipNames.safe(text)
    return name.lowercased().hasSuffix(".zip") ? name : name + ".zip"
  }
}
