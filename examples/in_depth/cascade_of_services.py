"""
Three chat models: a cascade, its protocol and the bill
=======================================================

You learn to put chat models behind an OpenAI-compatible address into a cascade: what a dry run
says, which trade-offs the front has, and what a run costs. A server on this machine stands in for
the vendor, so the script needs neither a key nor a network.

Run it with: python examples/in_depth/cascade_of_services.py
"""

import numpy as np

from emsco import EMSCOClassifier
from emsco.paid_features import PaidFeature, PaidFeatures, Price
from emsco.paid_features.practice import LABELS, PracticeServer, practice_tickets

texts, departments = practice_tickets(700)
server = PracticeServer()
# %%
# A paid feature is a model, a question and a price: dollars for a million tokens.

prices = {"small": 0.1, "medium": 0.8, "large": 5.0}
services = PaidFeatures(
    [
        PaidFeature.chat(
            name,
            model=name,
            prompt="Which department should answer this ticket?\n\n{input}",
            labels=LABELS,
            url=server.url,
            key_env=None,  # a vendor's key: in this environment variable
            price=Price(per_million_in=dollars, per_million_out=4 * dollars),
        )
        for name, dollars in prices.items()
    ],
    spending_limit=1,
    per_rows=1000,  # costs are dollars for 1,000 tickets
)

# %%
# The dry run asks nothing. Then all models answer all training rows, once. The front has the
# trade-offs; the chosen design is the cheapest that is as good as asking all.

print(services.estimate(texts[:400]))
answers = services.collect(texts[:400])
clf = EMSCOClassifier(answers.costs, always_answer=True, estimator="logistic", random_state=0)
clf.fit(answers.table, departments[:400])
print(clf.front_, clf.cascade_, sep="\n")

# %%
# New tickets ask a model only if the ones before it are unsure.

decisions = services.run(clf.cascade_, texts[400:])
print(services.bill)

# %%
# Compare with the large model alone, on the same tickets.

alone = PaidFeatures([services.features[-1]])
table = alone.collect(texts[400:]).table
best = np.column_stack([table[f"large {label}"] for label in LABELS]).argmax(axis=1)
truth = np.array(departments[400:])
guesses = {"large alone": np.array(LABELS)[best], "the cascade": decisions.guesses}
dollars = {"large alone": 1000 * alone.bill.total / 300, "the cascade": decisions.cost.mean()}
for who in dollars:
    print(f"{who} {np.mean(guesses[who] == truth):.1%} correct, ${dollars[who]:.3f} per 1,000")
print(f"The cascade saves {1 - dollars['the cascade'] / dollars['large alone']:.0%}.")
server.close()
figure = clf.front_.plot(mark=clf.point_, width=6)
figure.savefig("front.png")
figure = clf.front_.plot_cascade(clf.point_, width=7)
figure.savefig("cascade.png")
