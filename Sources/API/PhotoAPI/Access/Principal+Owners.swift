import PhotoModel

extension Principal {
  /// Whether it sees what other callers created: requests, fetch results, transient collections, caching managers and
  /// staged uploads. These refer to assets, so the admin scope is not enough: it needs full visibility.
  var seesAllOwners: Bool { may(.admin) && visibility == .everything }
}
