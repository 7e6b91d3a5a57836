import HTTPCore
import LibraryCatalogue
import LibraryFiles
import PhotoModel

/// The result of one file of an upload.
struct UploadResult: Encodable, Sendable {
  let filename: String?
  let status: Int
  fileprivate let asset: UploadedAssetJSON?
  let problem: Problem?

  init(_ filename: String?, _ upload: UploadedAsset, _ tokens: TokenCodec, for principal: Principal) {
    self.filename = filename
    status = upload.status(for: principal)
    asset = UploadedAssetJSON(upload, tokens, for: principal)
    problem = nil
  }

  init(_ filename: String?, _ problem: Problem) {
    self.filename = filename
    status = problem.status
    asset = nil
    self.problem = problem
  }

  private enum Key: String, CodingKey { case filename, status, asset, problem }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(filename, forKey: .filename)
    try object.encode(status, forKey: .status)
    try object.encodeIfPresent(asset, forKey: .asset)
    try object.encodeIfPresent(problem.map { ProblemJSON($0) }, forKey: .problem)
  }
}

extension [UploadResult] {
  /// The response to a multipart upload.
  ///
  /// - Throws: 400 if there is no file; the first problem if no file became an asset.
  func response(for principal: Principal) throws(Problem) -> HTTPResponse {
    if isEmpty {
      throw Problem(400, "malformed-request", "Bad Request", detail: "The body contains no file.")
    }
    let problems = compactMap(\.problem)
    if problems.count == count, let first = problems.first { throw first }
    // Without `read`, each stored file is a new asset, so a status for each file would carry no information.
    guard principal.may(.read) else { return .json(AddedAssetsJSON(results: self), status: 201) }
    let isAnyNew = contains { $0.status == 201 }
    return .json(UploadResultsJSON(results: self), status: isAnyNew ? 201 : .ok)
  }

  /// The response for a problem that ends the form: the problem, with the results so far. Files that became assets stay
  /// stored.
  func response(to problem: Problem) -> HTTPResponse {
    isEmpty
      ? problem.response
      : problem.response(body: JSONBody.encode(UploadFailureJSON(problem: ProblemJSON(problem), results: self)))
  }
}

extension UploadedAsset {
  /// Without `read`, each upload is answered as one of a new asset, also a repeated request for the same staged upload.
  fileprivate func status(for principal: Principal) -> Int {
    isNew && !isRepeated || !principal.may(.read) ? 201 : 200
  }

  /// The response to an upload of one file.
  func response(_ tokens: TokenCodec, for principal: Principal) -> HTTPResponse {
    .json(
      UploadedAssetJSON(self, tokens, for: principal), status: HTTPStatus(status(for: principal)),
      location: "/v1/assets/\(asset.localIdentifier.rawValue)")
  }
}

private struct UploadResultsJSON: Encodable {
  let results: [UploadResult]
}

/// The response to several files from a caller with the scope `add` and not `read`.
private struct AddedAssetsJSON: Encodable {
  let results: [UploadResult]

  private enum Key: String, CodingKey { case assets, problems }
  private struct Failure: Encodable {
    let filename: String?
    let problem: ProblemJSON
  }

  // `problems` is written only if a file did not become an asset.
  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(results.compactMap(\.asset), forKey: .assets)
    let failures = results.compactMap { result in
      result.problem.map { Failure(filename: result.filename, problem: ProblemJSON($0)) }
    }
    if !failures.isEmpty { try object.encode(failures, forKey: .problems) }
  }
}

/// A problem that ends a form, with the results so far.
private struct UploadFailureJSON: Encodable {
  let problem: ProblemJSON
  let results: [UploadResult]

  private enum Key: String, CodingKey { case results }

  func encode(to encoder: any Encoder) throws {
    try problem.encode(to: encoder)
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(results, forKey: .results)
  }
}

/// The asset in the response to an upload. A sender who does not see it gets only its identifier and version, because
/// the path would show which other paths exist. A limited caller does not see a new asset, which is in none of its albums.
fileprivate enum UploadedAssetJSON: Encodable, Sendable {
  case whole(AssetJSON)
  case name(Asset)

  init(_ upload: UploadedAsset, _ tokens: TokenCodec, for principal: Principal) {
    let isSeen = principal.may(.read) && (principal.visibility == .everything || !upload.isNew)
    self = isSeen ? .whole(AssetJSON(upload.asset, tokens)) : .name(upload.asset)
  }

  private enum Key: String, CodingKey { case localIdentifier, contentVersion }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .whole(let asset): try asset.encode(to: encoder)
    case .name(let asset):
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(asset.localIdentifier.rawValue, forKey: .localIdentifier)
      try object.encode(asset.contentVersion.rawValue, forKey: .contentVersion)
    }
  }
}
