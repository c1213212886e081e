"""The colours of figures and pages."""

# Okabe and Ito's colours, which the common kinds of colour blindness keep apart; yellow, too pale
# on white, comes last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
