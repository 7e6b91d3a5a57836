import ImageService
import PhotoModel

/// Assets and options for tests of the caching state alone.
enum CachingFixture {
  static let options = PreheatOptions(
    ImageRequest(targetSize: .size(PixelSize(width: 12, height: 12))), format: nil)

  /// A list that has asset N at position N.
  struct AssetList: PreheatSource {
    let name = "list"
    let version = "1"
    let count = 100
    let isAvailable = true
    let isCurrent = true

    func assets(at positions: [Int]) -> [Asset?] { positions.map { CachingFixture.asset($0) } }
    func changes(visible: Range<Int>, known: [Int], mayReadAll: Bool) -> PreheatListChange { .unchanged(self) }
  }

  /// - Parameter version: of the content, and of the file.
  static func asset(_ index: Int, version: Int = 1) -> Asset {
    let time = Timestamp(milliseconds: 0)
    return Asset(
      localIdentifier: LocalIdentifier("\(index)"), contentVersion: ContentVersion("\(index) v\(version)"),
      revision: ChangeToken(1), mediaType: .image, uniformTypeIdentifier: "public.jpeg",
      pixelSize: PixelSize(width: 100, height: 100), orientation: .topLeft, hasAlpha: false, creationDate: time,
      creationDateSource: .file, modificationDate: time, location: nil, cameraMake: nil, cameraModel: nil,
      isFavorite: false, isHidden: false,
      original: OriginalFile(
        path: Array("\(index)".utf8), identity: FileIdentity(inode: UInt64(index), size: 1, modified: Int64(version))))
  }
}
