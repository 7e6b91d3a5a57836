import HTTPCore
import ImageCodec
import ImageService
import PhotoModel

// One file of an asset, opened and sent.

extension DataRoute {
  private static let lifetime = "max-age=31536000, immutable"

  /// Opens a file and sends it, on the queue that waits for the disk.
  ///
  /// - Parameter opened: called before the file is sent.
  func sendOriginal(
    _ resource: AssetResource, of asset: Asset, includesLocation: Bool, isDownload: Bool, isVersioned: Bool,
    _ head: RequestHead, _ reply: Reply,
    opened: (OriginalResponseCache.Representation) -> Void
  ) throws(Problem) {
    let identity = resource.file.identity
    // Before the conditions, because the entity tag contains the ctime of the open file.
    let early = try resource.isPrimary ? nil : open(resource, includesLocation: includesLocation, reply)
    let validators = Validators(
      entityTag: entityTag(of: resource, early, asset, includesLocation: includesLocation),
      // After adjustments were removed, the original is newer than its file.
      changed: max(identity.modified / 1_000_000_000, resource.isPrimary ? asset.pictureModificationSeconds : 0))
    var fields = Self.validatorFields(validators, isVersioned: isVersioned)
    if try reply.sendNotModified(to: head, validators, fields) { return }
    let original = if let early { early } else { try open(resource, includesLocation: includesLocation, reply) }
    let format = resource.uniformTypeIdentifier.flatMap(MediaFormat.init(uniformTypeIdentifier:))
    let type: String
    switch resource.type {
    case .sidecar: type = "application/rdf+xml"
    case .adjustmentData: type = "application/xml"
    default: type = format?.internetMediaType ?? "application/octet-stream"
    }
    fields += sender.rangeFields
    fields += [
      (
        "Content-Disposition",
        ContentDisposition.value(isDownload ? .attachment : .inline, name: resource.filename)
      ), ("Image-Result", Self.imageResult(resource, asset)), ("X-Content-Type-Options", "nosniff"),
      // A user's file must never run as a page of this origin.
      ("Content-Security-Policy", "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'"),
    ]
    opened(
      OriginalResponseCache.Representation(
        original: original, slice: resource.range, type: type, fields: fields, validators: validators))
    try sender.send(original, resource.range, type: type, fields: fields, validators: validators, head, reply)
  }

  private func open(
    _ resource: AssetResource, includesLocation: Bool, _ reply: Reply
  ) throws(Problem) -> ServableOriginal {
    do throws(OriginalFiles.Failure) {
      return try files.open(resource, includesLocation: includesLocation, staysOpen: true)
    } catch {
      throw error.problem(for: reply, files.logger)
    }
  }

  /// The strong entity tag. It changes with the file and with the facts that are removed from it, but not with the name
  /// of the picture or the favourite flag.
  ///
  /// - Parameter original: the open file, if it is not the primary one.
  private func entityTag(
    of resource: AssetResource, _ original: ServableOriginal?, _ asset: Asset, includesLocation: Bool
  ) -> String {
    let identity = resource.file.identity
    var text = "\(asset.localIdentifier) \(asset.contentVersion) \(resource.type.rawValue)"
    text += " \(identity.inode) \(identity.size) \(identity.modified)"
    // A primary file that is rewritten, with its modification time restored, gets another content version. With another
    // file the content version need not change, so its ctime is part of the tag: that of the open file or, if it is not
    // known, that of the last scan.
    if let original {
      let changeTime = files.changeTimeNanoseconds(of: original)
      text += " \(changeTime != 0 ? changeTime : resource.changeTimeNanoseconds)"
    }
    text += " " + files.form(includesLocation: includesLocation)
    return EntityTag.strong(over: Array(text.utf8))
  }

  private static func validatorFields(
    _ validators: Validators, isVersioned: Bool
  ) -> [(name: String, value: String)] {
    [("ETag", validators.entityTag ?? "")] + validators.lastModifiedField
      + [("Cache-Control", isVersioned ? "private, \(lifetime)" : QueryService.cacheControl)]
  }

  /// The facts that PhotoKit's requestImageDataAndOrientation returns with the data. Only the primary file has a known
  /// orientation.
  private static func imageResult(_ resource: AssetResource, _ asset: Asset) -> String {
    var members: [String] = []
    if resource.isPrimary { members.append("orientation=\(asset.orientation.rawValue)") }
    if let type = resource.uniformTypeIdentifier { members.append("uti=\"\(type)\"") }
    return members.joined(separator: ", ")
  }
}
