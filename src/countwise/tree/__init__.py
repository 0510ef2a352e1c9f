"""Decision trees, regression trees and rule lists."""
