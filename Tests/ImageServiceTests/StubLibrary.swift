import ImageService
import Logging
import PhotoModel

/// A library of given assets, in pages of two.
struct StubLibrary: AssetSource {
  let all: [Asset]

  init(_ assets: [Asset]) { all = assets }

  var generation: UInt64 { 1 }

  func asset(_ identifier: LocalIdentifier, for principal: Principal) -> Asset? {
    all.first { $0.localIdentifier == identifier }
  }

  func assets(named identifiers: [LocalIdentifier], for principal: Principal) -> [Asset?] {
    identifiers.map { asset($0, for: principal) }
  }

  func touchedAssets(since changeToken: ChangeToken?, for principal: Principal) -> TouchedIdentifiers {
    TouchedIdentifiers(changeToken: ChangeToken(1), identifiers: changeToken == nil ? nil : [])
  }

  func assets(after cursor: PageCursor?, limit: Int) throws(AssetSourceError) -> AssetPage {
    let start = try Int(cursor?.integer(0) ?? 0)
    let end = min(start + 2, all.count)
    return AssetPage(
      assets: Array(all[start..<end]), nextCursor: end < all.count ? PageCursor([.integer(Int64(end))]) : nil,
      changeToken: ChangeToken(1))
  }

  func scanState(for principal: Principal) -> ScanState {
    ScanState(isFirstScanComplete: true, indexedCount: all.count)
  }
}
