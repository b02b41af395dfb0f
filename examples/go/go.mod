module colonnade.example/histogram

go 1.21
