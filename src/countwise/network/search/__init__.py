"""Structure search: orderings, hill climbing, trees and structures around a class."""
