import CPhotoFixtures

/// Gives two files or folders each other's names, in one step.
package func exchangeNames(_ one: String, _ other: String) -> Bool { fixture_exchange_names(one, other) }
