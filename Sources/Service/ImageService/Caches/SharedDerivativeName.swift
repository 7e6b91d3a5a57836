import DiskCache
import ImageCodec
import ImageRender
import PhotoModel

/// The name of an asset's object in the shared store, and the keys of the entries in it.
///
/// The content versions of two catalogues differ even for the same file, because their digests have different keys. So
/// the name is made of what all daemons know of the original: its fingerprint and size, and the time of a file or the
/// entity tag of an object. The same properties decide whether a file is a copy of the one in the catalogue. The shape
/// of the picture is part of the name too, because metadata may be beyond the bytes of the fingerprint.
struct SharedDerivativeName: Sendable {
  /// Formats that may store pixels without compression. Two such files may have the same size and the same fingerprint,
  /// which covers only the ends of a file, although their pictures differ. They are shared only if an entity tag covers
  /// the whole file.
  private static let uncompressedTypes = Set([SourceFormat.bmp, .tiff].map(\.uniformTypeIdentifier))

  /// `3f/6-…`: the first byte of a digest, so that objects spread over 256 prefixes, the epoch, and the rest.
  let text: String
  /// All sizes of the asset, smallest first, with the key of each.
  let entries: [(rung: DerivativeLadder.Rung, key: DiskStore.Key)]

  /// `nil` for an asset whose derivatives are not shared: it has none, its fingerprint is unknown or says too little,
  /// its picture depends on an edit in this daemon's catalogue, or only a part of it is shown: a frame of a video at a
  /// requested time, or the RAW file of a pair.
  ///
  /// - Parameter isRemote: the library is in a remote store. A file's inode differs between copies of a folder; in a
  ///   remote library an entity tag is in its place.
  init?(of asset: Asset, isRemote: Bool) {
    let rungs = DerivativeLadder.standard.rungs(of: asset.pixelSize)
    guard !rungs.isEmpty, asset.adjustments == nil, asset.beforeAdjustments == nil,
      !asset.contentVersion.showsPart, let fingerprint = asset.original.fingerprint
    else { return nil }
    let identity = asset.original.identity
    let tagCoversWholeFile = isRemote && !identity.needsPath
    if !tagCoversWholeFile, Self.uncompressedTypes.contains(asset.uniformTypeIdentifier) { return nil }
    // Whole seconds: not all file systems keep more.
    let state = isRemote ? "object \(identity.inode)" : "file \(identity.modified / 1_000_000_000)"
    let (size, orientation) = (asset.pixelSize, asset.orientation.rawValue)
    let shape = "\(size.width)x\(size.height) turn \(orientation)\(asset.hasAlpha ? " alpha" : "")"
    let kind = asset.mayHaveGainMap ? "|gain map" : ""
    let content = "\(DerivativeLadder.epoch)|\(fingerprint.bytes)|\(identity.size)|\(state)|\(shape)\(kind)"
    let digest = DiskStore.Key(digestOf: Array(content.utf8)).hexadecimal
    text = "\(digest.prefix(2))/\(DerivativeLadder.epoch)-\(digest.dropFirst(2))"
    entries = rungs.map { ($0, DiskStore.Key(digestOf: Array("\(digest)|\($0.side)".utf8))) }
  }
}
