/// Limits of caching managers.
package struct CachingLimits: Sendable {
  /// Maximum number of managers, including the `default` ones in use.
  package var managers = 256
  /// Maximum number of managers of one principal, in addition to its `default` one; the `default` managers of its
  /// clients count.
  package var managersPerCaller = 16
  /// Maximum number of entries of one manager: an asset counts once for each size.
  package var assets = 4096
  /// Maximum number of entries of all managers together, as ``CallerShares`` counts them; each takes about a kilobyte.
  package var totalAssets = 16_384
  /// Maximum number of originals that windows of all managers download at the same time; 0: windows download nothing.
  package var windowDownloads = 2
  /// How long an unused manager is kept, unless a client chose another lease.
  package var lease = Duration.seconds(300)
  /// The longest lease of a manager; by default, a client can choose up to a day.
  package var maximumLease = Duration.seconds(86_400)
  /// How windows follow the visible range.
  package var rules = PreheatWindow.Rules()

  package init() {}
}
