import ImageService
import LibraryCatalogue
import PhotoModel

/// Removes frames, derivatives and full-size renders whose content no asset has, because the asset was deleted or
/// edited.
struct FormerPictures: Sendable {
  let catalogue: Catalogue
  let frames: FrameStore
  let fullSizeRenders: FullSizeRenderStore
  let stop: StopFlag
  /// How long a request may take.
  let deadline: Duration

  private static let contentsPerStep = 256

  /// Removes everything that is due. The next call retries what can't be removed now.
  func remove() throws(AssetSourceError) {
    while !stop.isRaised {
      let former = try catalogue.formerContents(
        limit: Self.contentsPerStep, delay: max(Catalogue.formerContentDelay, deadline * 2))
      let contents = former.map(\.content)
      guard !contents.isEmpty, frames.remove(contents: contents), fullSizeRenders.remove(contents: contents) else {
        return
      }
      try catalogue.forget(former)
    }
  }
}
