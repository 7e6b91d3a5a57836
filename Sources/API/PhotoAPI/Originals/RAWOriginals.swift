// `version=original` of a picture with a RAW file beside it: the RAW file is the original, and is rendered instead of
// the picture.

import ImageCodec
import ImageService
import PhotoModel

/// Finds the file that shows a version of an asset. Blocks on the file system.
struct RAWOriginals: Sendable {
  let queries: QueryService
  let originals: OriginalStore
  let limits: CodecLimits

  /// The asset with the file, the size and the orientation of the requested version. An asset whose own file is the RAW
  /// file, or that has none, is returned unchanged.
  ///
  /// The returned asset has another content version, so frames of the RAW file and of the picture are never confused.
  func asset(_ asset: Asset, _ version: ImageVersion, _ principal: Principal) throws(Problem) -> Asset {
    let format = MediaFormat(uniformTypeIdentifier: asset.uniformTypeIdentifier)
    guard version == .original, asset.isRAW, asset.mediaType == .image, format?.isRAW != true else { return asset }
    guard let file = try file(of: asset, principal) else { return asset }
    let header = try header(of: file)
    var original = asset.unadjusted
    original.contentVersion = original.contentVersion.showing("raw")
    original.original = file
    original.uniformTypeIdentifier = header.format.uniformTypeIdentifier
    original.pixelSize = header.uprightSize
    original.orientation = header.orientation
    (original.hasAlpha, original.isAnimated) = (false, false)
    original.isRenderable = true
    return original
  }

  /// The RAW file beside the picture of an asset; `nil` if there is none.
  func file(of asset: Asset, _ principal: Principal) throws(Problem) -> OriginalFile? {
    let files = try queries.run { library throws(AssetSourceError) in
      try library.assetFiles(of: asset.localIdentifier, includesSidecars: false, for: principal)
    }
    return files?.resources.first { $0.type == .alternatePhoto }?.file
  }

  private func header(of file: OriginalFile) throws(Problem) -> MediaHeader {
    let source: any ByteSource
    do throws(OriginalStoreError) {
      source = try originals.open(file)
    } catch {
      throw Problem(ImageServiceError(error))
    }
    do throws(CodecError) {
      return try MediaHeader.read(from: source, limits: limits.headerOnly)
    } catch {
      throw Problem(ImageServiceError.codec(error))
    }
  }
}
