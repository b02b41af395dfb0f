"""RDataFrame's and TChain's spelling over the data frame; `colonnade.root` has the names."""
