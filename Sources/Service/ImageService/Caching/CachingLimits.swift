/// Limits of caching managers.
package struct CachingLimits: Sendable {
  /// Maximum number of managers, including the `default` ones in use.
  package var managers = 256
  /// Maximum number of managers of one principal, in addition to its `default` one.
  package var managersPerCaller = 16
  /// Maximum number of entries of one manager: an asset counts once for each size.
  package var assets = 4096
  /// Maximum number of entries of all managers together; each takes about a kilobyte.
  package var totalAssets = 16_384
  /// How long an unused manager is kept, unless it was made with a shorter lease.
  package var lease = Duration.seconds(300)
  /// How windows follow the visible range.
  package var rules = PreheatWindow.Rules()

  package init() {}
}
