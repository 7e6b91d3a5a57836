/// What caching managers may take.
package struct CachingLimits: Sendable {
  /// Managers in all, the `default` ones that are in use among them.
  package var managers = 256
  /// Managers of one principal, beside its `default` one.
  package var managersPerPrincipal = 16
  /// What one manager prepares at a time: assets, each counted once a size.
  package var assets = 4096
  /// The same of all managers together; each takes about a kilobyte.
  package var assetsInAll = 16_384
  /// How long one is kept that nobody uses, unless it was made for less.
  package var lease = Duration.seconds(300)
  /// How windows follow what is visible.
  package var rules = PreheatWindow.Rules()

  package init() {}
}
