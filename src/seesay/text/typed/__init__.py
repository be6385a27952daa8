"""What people type: misspelt words, other languages, what photos are not to show, and when they are from."""
