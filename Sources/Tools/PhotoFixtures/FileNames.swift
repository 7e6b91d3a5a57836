import CPhotoFixtures

/// Exchanges the names of two files or folders atomically.
package func exchangeNames(_ one: String, _ other: String) -> Bool { fixture_exchange_names(one, other) }
