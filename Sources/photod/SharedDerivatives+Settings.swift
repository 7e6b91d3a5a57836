import Logging
import ObjectStores
import SharedDerivatives

extension SharedDerivatives {
  /// The bucket of the setting `cache.derivatives`; `nil` if it is empty. Reads credentials, and sends no request to
  /// the store.
  convenience init?(_ settings: Settings, logger: Logger) throws {
    let address = settings.cache.derivatives
    guard !address.isEmpty else { return nil }
    guard address.hasPrefix("s3://") else {
      throw CommandFailure(description: "cache.derivatives \(address) is not a bucket: use s3://BUCKET/PREFIX")
    }
    guard settings.cache.diskBytes > 0 else {
      throw CommandFailure(
        description: "cache.derivatives needs the disk cache: set cache.diskBytes to more than 0, or leave it out")
    }
    var location = try RemoteLocation(address, of: "cache.derivatives", settings)
    // Each operation is tried once: without the store, a picture is made from its original.
    location.limits.retries.attempts = 1
    location.limits.retries.readTimeout = settings.cache.derivativeReadTimeout
    location.limits.transfers.connectTimeout = min(
      location.limits.transfers.connectTimeout, settings.cache.derivativeReadTimeout)
    let store = try location.store()
    self.init(store, limits: settings.cache.sharedDerivatives, logger: logger)
    logger.info("derivatives are shared", metadata: ["store": "\(store.name)"])
  }
}
