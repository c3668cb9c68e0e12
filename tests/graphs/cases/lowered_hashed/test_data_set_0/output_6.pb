By6_0Jø6{k
+D'DküŠ